"""What can be asked of the server, a file per topic; `docs/page.md` lists the routes."""

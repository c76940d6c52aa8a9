"""A GAN: two optimizers, of which one updates several times per iteration."""

import torch
from torch.profiler import record_function
from torch.utils.data import DataLoader, TensorDataset

CRITIC_UPDATES = 3
data = TensorDataset(torch.randn(20 * 8, 16))
generator, critic = torch.nn.Linear(4, 16), torch.nn.Linear(16, 1)
of_generator = torch.optim.Adam(generator.parameters())
of_critic = torch.optim.Adam(critic.parameters())
for step, (real,) in enumerate(DataLoader(data, batch_size=8)):
    with record_function(f"body {step}"):
        for _ in range(CRITIC_UPDATES):
            of_critic.zero_grad()
            fake = generator(torch.randn(8, 4)).detach()
            (critic(fake).mean() - critic(real).mean()).backward()
            of_critic.step()
        of_generator.zero_grad()
        (-critic(generator(torch.randn(8, 4))).mean()).backward()
        of_generator.step()

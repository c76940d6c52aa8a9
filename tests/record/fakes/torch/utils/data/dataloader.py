from ...autograd import record_function


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self.items = iter(loader.dataset)
        self._num_yielded = 0

    def __iter__(self):
        return self

    def __next__(self):
        with record_function("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            data = next(self.items)
            self._num_yielded += 1
            return data


class DataLoader:
    def __init__(self, dataset):
        self.dataset = dataset

    def __iter__(self):
        return _BaseDataLoaderIter(self)

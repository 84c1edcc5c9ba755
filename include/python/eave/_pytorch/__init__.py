"""The parts of eave.Averager that know PyTorch. _averager.py puts them together."""

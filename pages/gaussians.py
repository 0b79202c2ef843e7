"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

from gbuq_core.study.gaussians import GAUSSIANS
from pages._ui.study import show_study

show_study(GAUSSIANS)

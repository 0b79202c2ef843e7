"""What holds for the whole process: the limits of a session, and uploads that touch no disk."""

from __future__ import annotations

import streamlit as st
from starlette.formparsers import MultiPartParser

from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import RUNNER
from gbuq_core.session_limits import configured_limits


@st.cache_resource(show_spinner=False)
def keep_uploads_in_memory() -> None:
    """Uploads stay in memory, as the page says; Starlette would write them to a temporary file.

    A file of more than 1 MB would touch the disk, and could not be opened while the disk is full.
    """
    MultiPartParser.spool_max_size = 2**20 * int(st.get_option("server.maxUploadSize"))


@st.cache_resource(show_spinner=False)
def limit_sessions() -> str:
    """Read the limits, once a process; a sentence where the file is wrong, else empty."""
    try:
        RUNNER.limits = configured_limits()
    except InvalidParameter as error:
        return str(error)
    return ""

"""What at least two pages, or the app itself, use. What one page uses is in its own folder.

::

    site_map       every page once: file, address, title and question
    style          rules of appearance that the theme cannot say
    warmup         kernels loaded once, when the server starts
    knobs          a page's settings as plain data, and how its link is read
    controls       draws the knobs, each bound to its word in the address
    url_state      keeps address bar, controls and session the same
    address        sets several knobs at once, as one step of the browser's Back
    back_steps     lets Back lead to the page before as it was left
    share          copies the page's address
    present        the picture alone in larger type, and the page's story step by step
    jobs_glue      asks for fits, shows their progress, stops those nobody waits for
    limiting       reads what a session may use on a server for others
    journal        the server's log: fits and errors, and nothing of a table
    leaving        lets go of a session's memory after its tab has been closed
    live_sliders   refits the picture while a slider is dragged
    kept           keeps what was worked out from a fit while it is shown
    notices        sentences beside a picture: notes, warnings, errors
    canvas         the component for maps
    live           knobs in a picture's own bar, and the members it computes from
    curves         the component for curves
    placing        points that a reader places in a figure of curves
    surface        one map as a surface that can be turned
    skeleton       the places of a page: question, picture, control, verdict, folds
    study          the page of a study, an experiment in one file
    experiment     draws the page of an experiment from its record
    maps           the same where methods have maps side by side
    sections       draws a section of the exported page on the page
    side_by_side   fits several methods side by side
    trials         comparisons that take a while, each started by its button
    claims         a paper's statements with their verdicts
    cards          pages as cards: a picture, a question, one action
    handing        takes a table that is dropped on one page to another
    ways           leads from page to page: the open section, the foot, an unknown address
    own_scores     what a session has scored on its own table
    export         the row under a picture: code, downloads
"""

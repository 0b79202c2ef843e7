"""The command `gbuq`: one file a command, and what the commands share.

parser          reads the line, starts a command, turns errors into exit codes
combinations    which options mean nothing beside others
settings_file   options from a TOML file
model_options   the options of a fit and of its intervals
common_options  --seed, --jobs, --config, --json, --quiet
table_options   the options of a table and how it is read
outputs         which outputs are refused, and how files are written
watching        a job with a line of progress, which Ctrl-C stops
scored_table    a table scored as score, explain and report ask for it
project_options  --project, and the table that a project is about
project_scores  `gbuq score --project`
json_output, text_table, score_words   how results are printed
"""

"""Tables as a user's file holds them."""

from gbuq_core.tables import read_table


def as_table(frame, **options):
    return read_table(frame.to_csv(index=False).encode(), **options)


def table_of(decimal=".", **columns):
    delimiter = ";" if decimal == "," else ","
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return read_table("\n".join(lines).encode())

"""Which numbers do not count but are codes, by the name of their column and by themselves."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from gbuq_core.tables.columns import Column

_FEWEST = 10  # rows
_SYSTEMS = (
    "fips|zip|zipcodes?|postcodes?|postalcode|postal|plz|postleitzahl|postnummer|cep|pincode|drg"
    "|msdrg|npi|ccn|naics|sic|nace|isic|isco|hts|hscode|ssn|geoid|geocode|ean|upc|gtin|sku|isbn"
    "|issn|barcode|ndc|icd|cpt|hcpcs|snomed|unspsc|siren|siret|insee|wmo|phone|telephone|tel"
    "|telefono?|fax|phonenumber|tract|cbsa|msa|puma|lsoa|msoa|cfop|ncm"
    "|blockgroup|precinct|ags|istat|mcc|cowcode|ccode|cusip|isin|permno|permco|gvkey|cik|psč|psc"
    "|irányítószám|郵便番号|邮编|邮政编码|우편번호|почтовый индекс|код"
)
_NUMBERED = (
    "account|provider|customer|store|phone|flight|policy|claim|order|invoice|serial|licen[sc]e"
    "|vehicle|train|route|batch|lot|part|item|product|employee|member|patient|student|course|case"
    "|ticket|card|supplier|vendor|merchant|hospital|station|department|dept|mobile|contact|tax"
    "|registration|gate|room|unit|article|artikel|kunden|cuenta|badge|tail|line|prvdr"
)
_CODE = re.compile(
    rf"(?:{_SYSTEMS}|codes?|id|c[oó]digo|codice)\d*(?: .*)?|hs\d+"
    rf"|.* (?:{_SYSTEMS}|codes?|cod|kod|kodu|cd|keys?|ids?)\d*"
    r"|[^\W\d_]{4,}(?:nummer|nr|schlüssel)|kod .*|cod (?:comun|provinc|region|munic|post)\w*"
    rf"|(?:.* )?(?:{_NUMBERED}) (?:number|no|nr|nbr|num|nummer|numero)"
)
_COUNTS = re.compile(
    r"\b(?!area codes?$)"
    r"(?:of|per|n|counts?|cnt|mean|avg|average|median|income|pop|population|area|price|cost|rate"
    r"|ratio|share|pct|percent|total|sum|max|min|length|len|size|weight|calls|minutes|usage|score"
    r"|rank|density|distance|payments?|lines|errors)\b"
)


def hold_codes(base: Column, values: NDArray[np.float64]) -> bool:
    """Whether numbers are codes: ZIP Code, HSCode, provider_id, whole, repeated or all as long."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", base.name)
    name = " ".join(re.findall(r"[^\W\d_]+\d*", parted.lower()))
    known = values[~np.isnan(values)]
    if not _CODE.fullmatch(name) or _COUNTS.search(name):
        return False
    if base.kind != "numeric" or base.n_distinct < 3 or len(known) < _FEWEST:
        return False
    if known.min() < 0.0 or (known != np.round(known)).any() or np.isinf(known).any():
        return False
    n_digits = np.floor(np.log10(np.maximum(known, 1.0))) + 1.0
    as_long = np.median(n_digits) >= 3.0 and np.ptp(np.quantile(n_digits, (0.05, 0.95))) <= 1.0
    return bool(as_long or base.n_distinct <= 0.5 * len(known))

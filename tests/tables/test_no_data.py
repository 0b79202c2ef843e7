"""What of a file is no data, how it is quoted and encoded, and what is said of it."""

import pytest
from table_parts import workbook_of

from gbuq_core.errors import TableError
from gbuq_core.tables import ReadOptions, infer_schema, prepare_new, prepare_training, read_table
from gbuq_core.tables.old_encodings import guess_encoding

HEADER = "name,city,area,y"
ROWS = [f"shop {k},{'Bonn' if k % 3 else 'Ulm'},{40 + 7 * k % 90},{k}.5" for k in range(30)]
AREAS = sum(40 + 7 * k % 90 for k in range(30))
Y = sum(k + 0.5 for k in range(30))


def text(*lines):
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([HEADER, *ROWS, f"Total,,{AREAS},{Y}"], "adds up the numbers of the rows above"),
        ([HEADER, *ROWS, f"Итого,,{AREAS},{Y}"], "adds up the numbers of the rows above"),
        ([HEADER, *ROWS, f"合计,,{AREAS},{Y}"], "adds up the numbers of the rows above"),
        ([HEADER, *ROWS, f"Ulm Total,,{AREAS},{Y}"], "adds up the numbers of the rows above"),
        ([HEADER, *ROWS, f"Somma,,{AREAS},{Y}"], "adds up the numbers of the rows above"),
        ([HEADER, f"Tussentotaal,,{AREAS},{Y}", *ROWS], "adds up the numbers of the rows below"),
        ([HEADER, *ROWS[:12], HEADER, *ROWS[12:]], "repeats the header"),
        ([HEADER, *ROWS[:12], HEADER.upper(), *ROWS[12:]], "repeats the header"),
        ([HEADER, *ROWS, ",,,", "Source: Bureau,,,"], 'has a single cell ("Source: Bureau")'),
        (["# by shopsys", "# user: k", HEADER, *ROWS], "The first 2 lines of the file"),
        (["Report 2021", "", HEADER, *ROWS], "The first 2 lines of the file"),
        (["Shop,,Size,Money", HEADER, *ROWS], "The first line of the file"),
        (["Source,A bank,2021", "", HEADER, *ROWS], "The first 2 lines of the file"),
    ],
)
def test_what_is_no_data_is_left_out_and_can_be_kept(lines, sentence):
    table = read_table(text(*lines))
    assert (table.names, table.n_rows) == (HEADER.split(","), len(ROWS))
    assert any(sentence in notice and "left out: choose" in notice for notice in table.notices)
    assert infer_schema(table).column("y").limits == (0.5, 29.5)
    kept = read_table(text(*lines), options=ReadOptions(keep_rows=True))
    assert (kept.n_rows > len(ROWS)) == (lines[0] == HEADER)
    if lines[0] != HEADER:
        names = read_table(text(*lines), options=ReadOptions(skip_rows=lines.index(HEADER))).names
        assert names == table.names


def test_rows_that_are_left_out_are_numbered_as_in_the_file():
    table = read_table(text(HEADER, *ROWS[:12], HEADER, *ROWS[12:]))
    assert [left.row for left in table.left_out] == [13]
    assert table.row_numbers[[11, 12]].tolist() == [12, 14]


@pytest.mark.parametrize("last", ["Total,,7,3.5", "Totally,Ulm,80,9.5"])
def test_a_word_for_a_total_alone_is_no_total(last):
    assert read_table(text(HEADER, *ROWS, last)).n_rows == len(ROWS) + 1


def test_a_scored_table_does_not_learn_from_its_errors():
    more = "x,prediction,lower_90,total_uncertainty,error,fold,y"
    rows = [f"{k % 7},{k}.1,{k},{k % 5},{k % 3},{k % 5},{k}" for k in range(40)]
    table = read_table(text(more, *rows))
    schema = infer_schema(table)
    assert [column.name for column in schema.columns if column.used] == ["x", "y"]
    assert any("added by an earlier scoring" in notice for notice in schema.notices)
    assert table.left_out[0].column == "prediction"


@pytest.mark.parametrize(
    "lines",
    [
        ["city, note, y", *[f'Ulm{k}, "small, old {k % 3}", {k}' for k in range(20)]],
        ["city,note,y", *[f'Ulm{k},"small, \\"old {k % 3}\\"",{k}' for k in range(20)]],
        ["city,note,y", *[f"Ulm{k},'small, old {k % 3}',{k}" for k in range(20)]],
    ],
)
def test_quotation_marks_of_other_programs(lines):
    table = read_table(text(*lines))
    assert table.names == ["city", "note", "y"]
    assert table.data["note"][0].as_py().startswith("small, ")


WORDS = {
    "gb18030": "城市 上海 北京 广州 深圳 杭州",
    "big5": "城市 臺北 高雄 臺中 新竹 價格",
    "cp932": "都市 東京 おおさか 札幌 ナゴヤ 価格",
    "cp949": "도시 서울 부산 인천 대구 가격",
    "cp1251": "город Москва Казань Самара Уфа цена",
    "cp1250": "město Žďár Plzeň Třebíč Čáslav Příbram",
    "cp1253": "πόλη Αθήνα Πάτρα Βόλος τιμή Χανιά",
    "cp1257": "miestas Šiauliai Panevėžys Žagarė Rokiškis Kelmė",
    "cp850": "größe Köln München Düsseldorf Würzburg Fürth",
    "cp874": "ราคา กรุงเทพ เชียงใหม่ ภูเก็ต ขอนแก่น อยุธยา",
    "mac_roman": "ville Orléans Nîmes Besançon Béziers Sète",
    "cp1252": "ville Orléans Nîmes Besançon Béziers Sète",
}


@pytest.mark.parametrize(
    ("encoding", "words"), [*WORDS.items(), ("gb18030", "品种 苹果 香蕉 葡萄 西瓜 橙子")]
)
def test_older_encodings_are_found_and_named(encoding, words):
    name, *cities = words.split()
    lines = [f"{name},y", *[f"{cities[k % 5]},{k}" for k in range(30)]]
    table = read_table("\n".join(lines).encode(encoding))
    assert table.names == [name, "y"]
    assert table.data[name][1].as_py() == cities[1]
    assert f"read as {encoding}" in table.notices[0]
    assert "--encoding" in table.notices[0]


WORDS_OF_FEW_LETTERS = {
    "cp932": ["大阪 名古屋 京都 神戸", "トウキョウ オオサカ ナゴヤ", "ﾄｳｷｮｳ ｵｵｻｶ ﾅｺﾞﾔ", "広島 仙台"],
    "euc_jp": ["東京 大阪 札幌 福岡", "りんご ごりら らっぱ"],
    "cp949": ["서울 부산", "테스트 문장입니다"],
    "gb18030": ["南京 武汉 成都 重庆", "这个城市的人口很多", "臺北 高雄 新竹"],
    "big5": ["高雄 臺南", "這個城市的人口很多"],
    "cp1251": ["МОСКВА ПЕРМЬ УФА", "Уфа Омск", "Съешь же ещё этих мягких булок"],
    "koi8_r": ["МОСКВА ПЕРМЬ УФА", "Тула Сочи", "В городе много старых домов"],
    "cp1250": ["Győr Pécs", "Poznań Łódź", "Olomouc Děčín", "Iaşi Braşov"],
    "iso8859_2": ["Győr Székesfehérvár", "Kraków Wałbrzych Świdnica", "Třebíč Šumperk"],
    "cp1254": ["Eskişehir Muğla", "Ağrı Kütahya"],
    "cp1252": [
        "Müller Nuñez Gonçalves Søren Besançon Zoë João",
        "Nº\xa05 1ª ¿Qué ¡Hola 3º año Peñíscola",
        "forêt tempête fête",
        "città perché più",
        "Tønder Køge",
        "ações não põe",
        "Põlva Võru Pärnu Türi",
        "5\xa0µg/m³ 20°C ±3 30m² ½",
        "“Hi” it’s a–b €5",
        "café",
        "España",
        "Bär",
        "ÉLÈVE FORÊT",
        "Þingvellir Ísafjörður",
        "L’œuf cœur Noël « bon » où naïf",
        "België één",
    ],
    "mac_roman": ["Würzburg Göttingen Münster", "élève déçu leçon"],
    "cp852": ["Wrocław Częstochowa Łódź", "Děčín Třebíč"],
}


@pytest.mark.parametrize("n", [1, 20])
@pytest.mark.parametrize(
    ("encoding", "words"),
    [(encoding, words) for encoding, every in WORDS_OF_FEW_LETTERS.items() for words in every],
)
def test_few_words_show_their_encoding(encoding, words, n):
    text = "name,y\n" + "".join(f"{word},{k}\n" for k, word in enumerate(n * words.split(" ")))
    assert text.encode(encoding).decode(guess_encoding(text.encode(encoding))) == text


def test_one_stray_byte_does_not_garble_a_text():
    lines = ["ville,y", *[f"{'Orléans' if k % 2 else 'Lyon'},{k}" for k in range(40)]]
    data = "\n".join(lines).encode().replace("Orléans".encode(), b"Orl\xe9ans", 1)
    table = read_table(data)
    assert infer_schema(table).column("ville").n_distinct == 2
    assert table.notices[0].startswith("1 byte of the UTF-8 text")


def test_zero_bytes_at_the_end_and_files_of_other_kinds():
    whole = text(HEADER, *ROWS, "")
    for data in (whole + b"\0" * 9, (whole.decode() + "\0" * 9).encode("utf-16")):
        assert read_table(data).n_rows == len(ROWS)
    for data, what in (
        (b"<table><tr><td>1</td></tr></table>", "web page"),
        (b"% iris\n@relation iris\n@data\n1,2\n", "ARFF"),
    ):
        with pytest.raises(TableError, match=what):
            read_table(data)


def test_names_of_a_second_file_that_differ_in_form():
    table = read_table(text("caf\u00e9,city,y", *[f"{k},{'ab'[k % 2]},{k}" for k in range(30)]))
    training = prepare_training(table, infer_schema(table), "y")
    new = read_table(text("City ,cafe\u0301", "a,3", "b,4"), to_score=True)
    second = prepare_new(new, training)
    assert second.X["caf\u00e9"].tolist() == [3.0, 4.0]
    assert any('"City" as "city"' in notice for notice in second.notices)


CELLS = [["name", "area", "y"], *[[f"shop {k}", 40 + k, k * 0.5] for k in range(20)]]


@pytest.mark.parametrize(
    ("sheets", "sentence"),
    [
        ({"README": [["This holds"], ["the sheet data"]], "data": CELLS}, '"README" holds'),
        ({"data": [["Report 2021"], [], *CELLS]}, "The first 2 lines"),
        ({"data": [row[:2] + ["=B2*2" if k else "y"] for k, row in enumerate(CELLS)]}, "formulas"),
        (
            {
                "data": [
                    [row[0] if k % 4 == 1 or not k else None, *row[1:]]
                    for k, row in enumerate(CELLS)
                ]
            },
            "filled in one of 4 rows",
        ),
    ],
)
def test_sheets_as_people_make_them(sheets, sentence):
    table = read_table(workbook_of(**sheets))
    assert (table.names, table.n_rows) == (["name", "area", "y"], 20)
    assert any(sentence in notice for notice in table.notices)


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_take_no_line_from_the_top(delimiter):
    rows = "".join(f"{k}.5{delimiter}{k},25\n" for k in range(40))
    table = read_table(f"x{delimiter}y\n{rows}".encode())
    assert (table.names, table.notices) == (["x", "y"], ())
    above = read_table(f"Bericht, 2021\n\nx{delimiter}y\n{rows}".encode())
    assert above.names == ["x", "y"]

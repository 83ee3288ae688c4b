"""Reads Parquet files whose writer was killed before it wrote the footer.

All rows are there, in whole pages one after the other; only the table of contents at the end is missing. The pages are
walked through, and a footer is written for them, modelled on the one of an empty-valued table of the same schema.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svm_robot.curation.check.reading import PARQUET
from svm_robot.curation.mend.thrift import I64, LIST, STRUCT, Struct, ThriftReader, field, to_bytes, with_field
from svm_robot.errors import DataError

DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = 0, 2, 3


@dataclass(frozen=True)
class Page:
    """One page of a column."""

    kind: int
    begin: int
    """Position in the file, its header included."""
    end: int
    values: int
    unpacked: int
    """Bytes of the header and of the page before it was compressed."""


@dataclass(frozen=True)
class Chunk:
    """The pages of one column of one row group."""

    pages: tuple[Page, ...]

    @property
    def values(self) -> int:
        """Values in its data pages, gaps included."""
        return sum(page.values for page in self.pages if page.kind != DICTIONARY_PAGE)


def read_without_footer(path: Path, schema: pa.Schema, widths: Sequence[int]) -> pa.Table:
    """The rows of whole row groups. ``widths``: values per row of each leaf column, in order.

    Raises ``DataError`` when there are none, or the pages do not fit the schema.
    """
    data = path.read_bytes()
    pages = pages_of(data)
    groups = row_groups(pages, widths, single=False) or row_groups(pages, widths, single=True)
    if not groups:
        raise DataError(f"{path.name} holds no whole group of rows")
    rows = [chunks[0].values // widths[0] for chunks in groups]
    try:
        end = groups[-1][-1].pages[-1].end
        whole = data[:end] + footer(schema, groups, rows)
        return pq.read_table(pa.BufferReader(whole), use_threads=False)
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise DataError(f"{path.name}: its pages do not fit the columns of info.json ({error})") from error


def pages_of(data: bytes) -> list[Page]:
    """Every whole page, from the beginning of the file on."""
    pages = []
    at = len(PARQUET)
    while at < len(data):
        reader = ThriftReader(data, at)
        try:
            header = reader.struct()
            kind, unpacked, packed = (field(header, number) for number in (1, 2, 3))
            details = field(header, {DATA_PAGE: 5, DICTIONARY_PAGE: 7, DATA_PAGE_V2: 8}[kind])
            page = Page(kind, at, reader.at + packed, field(details, 1), reader.at - at + unpacked)
        except (ValueError, IndexError, KeyError, TypeError):
            break
        if packed < 0 or page.end > len(data):
            break
        pages.append(page)
        at = page.end
    return pages


def row_groups(pages: Sequence[Page], widths: Sequence[int], single: bool) -> list[list[Chunk]]:
    """Whole row groups: one chunk for each leaf column, all of the same number of rows.

    How many rows a group has, its first column tells: by all data pages before the next dictionary or, ``single``,
    by its first data page alone, where the writer made no dictionaries.
    """
    groups: list[list[Chunk]] = []
    at = 0
    while at < len(pages):
        chunks: list[Chunk] = []
        rows = 0
        for width in widths:
            chunk = next_chunk(pages, at, rows * width or (1 if single else 0))
            if not chunk.pages or chunk.values % width or (rows and chunk.values != rows * width):
                return groups
            rows = rows or chunk.values // width
            at += len(chunk.pages)
            chunks.append(chunk)
        groups.append(chunks)
    return groups


def next_chunk(pages: Sequence[Page], at: int, wanted: int) -> Chunk:
    """The pages of one column, until it has the ``wanted`` values; 0: all data pages before the next dictionary."""
    taken: list[Page] = []
    held = 0
    for page in pages[at:]:
        begins_next = page.kind == DICTIONARY_PAGE and taken
        if begins_next or (wanted and held >= wanted):
            break
        taken.append(page)
        held += 0 if page.kind == DICTIONARY_PAGE else page.values
    return Chunk(tuple(taken))


def footer(schema: pa.Schema, groups: Sequence[Sequence[Chunk]], rows: Sequence[int]) -> bytes:
    """A footer that tells where the chunks are."""
    file = io.BytesIO()
    with pq.ParquetWriter(file, schema, compression="snappy", write_statistics=False) as writer:
        for number in rows:
            arrays = [pa.nulls(number, kind) for kind in schema.types]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema), row_group_size=number)
    model = file.getvalue()
    size = int.from_bytes(model[-8:-4], "little")
    told = ThriftReader(model[-8 - size : -8]).struct()
    kind, modelled = field(told, 4)
    filled = [fill_group(group, chunks) for group, chunks in zip(modelled, groups, strict=True)]
    written = to_bytes(with_field(told, 4, LIST, (kind, filled)))
    return written + len(written).to_bytes(4, "little") + PARQUET


def fill_group(group: Struct, chunks: Sequence[Chunk]) -> Struct:
    """A row group's description with the places and sizes of these chunks."""
    kind, described = field(group, 1)
    filled = [fill_column(column, chunk) for column, chunk in zip(described, chunks, strict=True)]
    total = sum(page.unpacked for chunk in chunks for page in chunk.pages)
    group = with_field(with_field(group, 1, LIST, (kind, filled)), 2, I64, total)
    packed = chunks[-1].pages[-1].end - chunks[0].pages[0].begin
    return with_field(with_field(group, 5, I64, chunks[0].pages[0].begin), 6, I64, packed)


def fill_column(column: Struct, chunk: Chunk) -> Struct:
    """The same for one column; what the model says of its own pages is left out."""
    first = chunk.pages[0]
    data = next(page for page in chunk.pages if page.kind != DICTIONARY_PAGE)
    told = field(column, 3)
    for number, value in (
        (5, chunk.values),
        (6, sum(page.unpacked for page in chunk.pages)),
        (7, chunk.pages[-1].end - first.begin),
        (9, data.begin),
        (11, first.begin if first.kind == DICTIONARY_PAGE else None),
        (12, None),
        (13, None),
        (16, None),
    ):
        told = with_field(told, number, I64, value)
    return with_field(column, 3, STRUCT, told)

"""Damaged datasets: ``repair`` keeps what is whole, ``salvage`` finds again what is torn, ``tidy`` clears up.

``footer`` and ``thrift`` read Parquet files that a killed writer left without their end.
"""

"""Alterations as in alterations.py, of the seals of what proves a certificate: digests, counts and signatures."""


def tables_truncated(e):
    e.tables = e.tables[:len(e.tables) // 2]
    e.unsealed = {"tables"}


def tables_shortened(e):
    del e.tables[e.line("pkeys ")]
    e.unsealed = {"tables"}


def journal_truncated(e):
    records = [line for line in e.journal if "kind" in line]
    e.journal = e.journal[:1] + records[:-1] + [line for line in e.journal if "kind" not in line][1:]
    e.unsealed = {"journal"}


def journal_changed(e):
    e.records("contract.put")[0]["data"]["maxGpus"] = 1
    e.unsealed = {"journal"}


def signed_by_another(e):
    return {"other_key": True}


def not_signed(e):
    return {"signed": False}


def members_behind_the_signature(e):
    e.tail = ', "jobs": []}'


def other_routes(e):
    e.certificate["routes"]["fnv1a64"] = "0" * 16


WITHOUT_SEAL = [
    ("a truncated table", tables_truncated, r"FAULT the tables are not whole: their end is missing"),
    ("a line of the tables removed", tables_shortened, r"FAULT the tables are not whole: \d+ lines, their end says \d+"),
    ("a truncated journal", journal_truncated, r"FAULT the journal's export: its newest record is \d+, not \d+"),
    ("a journal changed under its digest", journal_changed, r"FAULT the journal's export: was changed since it was made"),
    ("a signature of another key", signed_by_another, r"FAULT the certificate's signature is not of \S+"),
    ("no signature", not_signed, r"FAULT the certificate is not signed"),
    ("members behind the signature", members_behind_the_signature, r"FAULT the certificate's last line is not of an Ed25519 signature alone"),
    ("another digest of routes", other_routes, r"FAULT the certificate belongs to other routes"),
]

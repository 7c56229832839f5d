"""Write src/regard/web/data/api_types.d.ts from the server's OpenAPI document: `python -m tests.web.api_types`."""

from pathlib import Path
from typing import Any

from regard.server.app import all_endpoints
from regard.server.openapi import openapi

FILE = Path(__file__).parents[2] / "src" / "regard" / "web" / "data" / "api_types.d.ts"
HEADER = "/** Records of /api/v1, written by tests/web/api_types.py from the OpenAPI document. Do not edit. */\n"
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def api_types() -> str:
    """TypeScript's interface of each record, in the order of the document; descriptions stay in the document."""
    own = [endpoint for endpoint in all_endpoints() if endpoint.path.startswith("/api/v1/")]
    schemas = openapi(own)["components"]["schemas"]
    return HEADER + "".join(_declaration(name, schema) for name, schema in schemas.items())


def _declaration(name: str, schema: dict[str, Any]) -> str:
    if "properties" not in schema:
        return f"\nexport type {_name(name)} = {_type(schema)};\n"
    required = set(schema.get("required", []))
    fields = [
        f"  {field}{'' if field in required else '?'}: {_type(kind)};\n" for field, kind in schema["properties"].items()
    ]
    return f"\nexport interface {_name(name)} {{\n{''.join(fields)}}}\n"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if schema.get("type") == "array":
        return _array(schema)
    if schema.get("type") == "object":
        return f"Record<string, {_type(schema.get('additionalProperties') or {})}>"
    return PLAIN.get(schema.get("type", ""), "any")


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(map(_type, schema['prefixItems']))}]"
    item = _type(schema.get("items") or {})
    length = schema.get("minItems")
    if length is not None and length == schema.get("maxItems"):
        return f"[{', '.join([item] * length)}]"
    return f"({item})[]" if "|" in item else f"{item}[]"


def _name(name: str) -> str:
    """A class that two modules have is named by its module, too: pictures.Example is PicturesExample."""
    *modules, own = name.split(".")
    return "".join(part.title().replace("_", "") for part in modules[-1:]) + own


if __name__ == "__main__":
    FILE.write_text(api_types(), encoding="utf-8")

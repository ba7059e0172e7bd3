"""metadata.py ORIGIN: reads the authorization server metadata at BASE_URL as authlib does.

ORIGIN is what the service takes for its own address.
"""

import json
import os
import sys
from urllib.request import urlopen

from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from authlib.oidc.discovery import OpenIDProviderMetadata


def fetch(path):
    with urlopen(os.environ["BASE_URL"] + path) as answer:
        return json.load(answer)


server = fetch("/.well-known/oauth-authorization-server")
AuthorizationServerMetadata(server).validate()
provider = fetch("/.well-known/openid-configuration")
OpenIDProviderMetadata(provider).validate()

resource = fetch("/.well-known/oauth-protected-resource")
origin = sys.argv[1]
assert server["issuer"] == provider["issuer"] == resource["resource"] == origin
assert resource["authorization_servers"] == [origin]
print("authlib: the metadata is valid")

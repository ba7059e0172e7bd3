// Discovers, registers, gets a token, uses it and revokes it, like a client that knows only BASE_URL
// and OAuth.

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(new URL("../target/ci/package.json", import.meta.url));
const oauth = await import(require.resolve("oauth4webapi"));

const origin = new URL(process.env.BASE_URL);
// The service is on this machine, without TLS.
const options = { [oauth.allowInsecureRequests]: true };

const resourceAnswer = await oauth.resourceDiscoveryRequest(origin, options);
const resource = await oauth.processResourceDiscoveryResponse(origin, resourceAnswer);
const issuer = new URL(resource.authorization_servers[0]);

let server;
for (const algorithm of ["oidc", "oauth2"]) {
  const answer = await oauth.discoveryRequest(issuer, { ...options, algorithm });
  server = await oauth.processDiscoveryResponse(issuer, answer);
}

const registered = await fetch(server.agent_auth.register_uri, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ type: "anonymous", label: "outside check" }),
});
assert.equal(registered.status, 201);
const registration = await registered.json();

const client = { client_id: registration.client_id };
const secret = oauth.ClientSecretPost(registration.client_secret);
const granted = await oauth.clientCredentialsGrantRequest(server, client, secret, {}, options);
const token = await oauth.processClientCredentialsResponse(server, client, granted);

const health = new URL("/api/v1/health", origin);
const call = () => oauth.protectedResourceRequest(token.access_token, "GET", health, null, null, options);
assert.equal((await call()).status, 200);

const none = oauth.None();
const revoked = await oauth.revocationRequest(server, client, none, token.access_token, options);
await oauth.processRevocationResponse(revoked);
await assert.rejects(call, oauth.WWWAuthenticateChallengeError);
console.log("oauth4webapi: discovered, registered, used and revoked a token");

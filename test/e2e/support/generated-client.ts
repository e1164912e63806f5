import { execFile } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { checkout } from '../../helpers/checkout.ts'

/** A client that a program makes of the description of a running gateway, and its program of calls. */

const calls = fileURLToPath(new URL('../../fixtures/generated-client/calls.txt', import.meta.url))
const redocly = '@redocly/cli/bin/cli.js'
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const compiled = ['--strict', '--types', '', '--target', 'ES2023', '--module', 'NodeNext']

/** What a script of a dependency prints. @throws Error with it where the script fails */
async function run(script: string, ...args: readonly string[]): Promise<string> {
  const path = fileURLToPath(new URL(`node_modules/${script}`, checkout))
  const ran = promisify(execFile)(process.execPath, [path, ...args], { env })
  const { stdout, stderr } = await ran.catch((error: unknown) => {
    const { stdout: said, stderr: failed } = Object(error)
    throw new Error(`${script}: ${said}${failed}`)
  })
  return stdout + stderr
}

interface GeneratedClient {
  /** What the linter says of the description. */
  readonly lint: string
  /** The operations that the client has. */
  readonly operations: readonly string[]
  /** Makes one call of each kind. */
  readonly callEach: (
    url: string,
    tokens: { readonly model: string; readonly query: string; readonly admin: string },
    tenantId: string,
  ) => Promise<Readonly<Record<string, unknown>>>
}

/** Lints a description, makes a client of it, and compiles that with its calls. */
export async function generateClient(t: Test, description: string): Promise<GeneratedClient> {
  const folder = t.testdir({
    'package.json': '{ "type": "module" }',
    'openapi.json': description,
  })
  const at = (name: string): string => join(folder, name)
  const lint = await run(redocly, 'lint', at('openapi.json'), '--extends=recommended-strict')
  const style = ['--args-style', 'grouped', '--output', at('client.ts')]
  await run(redocly, 'generate-client', at('openapi.json'), ...style)
  copyFileSync(calls, at('calls.ts'))
  const lib = ['--lib', 'ES2023,DOM,DOM.AsyncIterable']
  await run('typescript/bin/tsc', '--ignoreConfig', ...compiled, ...lib, at('calls.ts'))
  const load = (name: string) => import(pathToFileURL(at(name)).href)
  const { OPERATIONS } = await load('client.js')
  const { callEach } = await load('calls.js')
  return { lint, operations: Object.keys(OPERATIONS), callEach }
}

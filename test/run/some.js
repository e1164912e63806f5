#!/usr/bin/env node
/** Compiles and runs the test files whose path begins with an argument: `node test/run/some.js test/app/spending`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { buildTests } from './build.js'

// The compiled file has another ending than the one that is seen in the folder.
const prefixes = process.argv.slice(2).map((path) => path.replace(/\.ts$/, ''))
if (prefixes.length === 0) {
  process.stderr.write('usage: npm run test:some -- PREFIX..., such as test/app/spending\n')
  process.exit(2)
}
await buildTests(prefixes).catch(({ message }) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
})
const main = fileURLToPath(new URL('../../.build/test/run/main.js', import.meta.url))
const child = spawn(process.execPath, [main, ...prefixes], {
  stdio: 'inherit',
  env: { TAP_JOBS: '5', ...process.env },
})
const [code] = await once(child, 'exit')
process.exitCode = code ?? 1

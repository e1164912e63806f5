import { execFile } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  COLLECTOR,
  FIRST_OLD,
  GROWTH,
  HALF_YOUNG,
  PARALLEL,
  PRETENURING,
  releaseStartMemory,
} from '../../src/platform/v8-flags.ts'

void t.test('V8 knows the flags in use, with other defaults', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--v8-options'], {
    maxBuffer: 16 * 1024 * 1024,
  })
  for (const flag of [PRETENURING, PARALLEL])
    t.match(stdout, new RegExp(`--${flag} \\([^]*?default: --${flag}\\n`))
  t.match(stdout, new RegExp(`--${COLLECTOR} \\([^]*?default: --no-${COLLECTOR}\\n`))
  t.match(stdout, new RegExp(`--${GROWTH} \\([^]*?default: --${GROWTH}=0\\n`))
  for (const size of [HALF_YOUNG, FIRST_OLD])
    t.match(stdout, new RegExp(`--${size} \\([^]*?default: --${size}=0\\n`))
})

void t.test('what only the start used is collected', async (t) => {
  const used = { by: new WeakRef({ start: true }) }
  // A reference that was made or read stays until its turn ends.
  await setImmediate()
  setFlagsFromString(`--${COLLECTOR}`)
  releaseStartMemory(runInNewContext('gc') as typeof globalThis.gc)
  t.equal(used.by.deref(), undefined)
})

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { GROWTH, HALF_YOUNG, PARALLEL, PRETENURING } from '../../src/kernel/v8-flags.ts'

void t.test('V8 knows the flags in use, with other defaults', async (t) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--v8-options'], {
    maxBuffer: 16 * 1024 * 1024,
  })
  for (const flag of [PRETENURING, PARALLEL])
    t.match(stdout, new RegExp(`--${flag} \\([^]*?default: --${flag}\\n`))
  t.match(stdout, new RegExp(`--${GROWTH} \\([^]*?default: --${GROWTH}=0\\n`))
  t.match(stdout, new RegExp(`--${HALF_YOUNG} \\([^]*?default: --${HALF_YOUNG}=0\\n`))
})

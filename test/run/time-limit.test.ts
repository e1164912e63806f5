import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'

t.test('a test file that runs alone has the time limit of the whole run', async (t) => {
  const { TAP_TIMEOUT: _limit, ...env } = process.env
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      `--import=${import.meta.resolve('tsx')}`,
      fileURLToPath(new URL('test/run/time-limit-child.ts', checkout)),
    ],
    { cwd: fileURLToPath(checkout), env },
  )
  t.match(stdout, 'limit 1200000 ms')
})

import pino from 'pino'
import t from 'tap'
import { logRedaction } from '../../../../src/api/kit/routes/log-lines.ts'
import { v1 } from '../../../../src/api/v1/mount.ts'
import { families } from '../../../../src/families/index.ts'

void t.test('no header that a mount takes a token in is logged', async (t) => {
  const mounts = [v1, ...families.flatMap(({ mounts = [] }) => mounts)]
  const taken = new Set(mounts.flatMap(({ keyHeaders = [] }) => keyHeaders))
  t.ok(taken.size >= 3, [...taken].join())
  let written = ''
  const logger = pino({ redact: logRedaction }, { write: (line: string) => void (written += line) })
  for (const name of ['authorization', 'cookie', 'set-cookie', ...taken]) {
    const headers = { [name]: 'the secret', 'x-else': 'shown' }
    for (const line of [{ req: { headers } }, { headers }, headers]) {
      written = ''
      logger.info(line)
      t.match(written, 'shown')
      t.notMatch(written, 'the secret', `${name} of ${JSON.stringify(line)}`)
    }
  }
})

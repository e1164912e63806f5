import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import t from 'tap'
import { isTransient } from '../../../projections/engine/failures.ts'
import { isOutage } from '../../../src/api/kit/bounds/drain.ts'

t.test('an unreachable Postgres is recognised, by port and by socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'away-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const host of ['127.0.0.1:1', encodeURIComponent(folder)]) {
    const client = new Client({ connectionString: `postgres://a:b@${host}/c` })
    const error: unknown = await client.connect().then(
      () => undefined,
      (refused: unknown) => refused,
    )
    t.ok(isTransient(error), `${host}: the same events are tried again`)
    t.ok(error instanceof Error && isOutage(error), `${host}: callers get 503`)
  }
  t.notOk(
    isTransient(Object.assign(new Error('no such file'), { code: 'ENOENT', syscall: 'open' })),
  )
})

import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { superviseEventStore } from '../../../../infra/embedded/eventstore/supervised.ts'
import { damageOf } from '../../../../infra/embedded/eventstore/table.ts'
import { eventually } from '../../../helpers/eventually.ts'
import { copied, makeLog } from './support/small-log.ts'

const killed = await makeLog(t)

t.test('each flipped bit of a table is found, also in its footer', async (t) => {
  const db = join(await copied(killed, 'bits'), 'db')
  const [name = ''] = (await readdir(db)).filter((one) => one.endsWith('.ldb'))
  const path = join(db, name)
  const whole = await readFile(path)
  t.equal(await damageOf(path, { deeply: true }), undefined)
  const footer = whole.length - 48
  // The places in the end are followed by bytes that nothing reads.
  const places = Array.from({ length: 6 }, (_, n) => footer + n)
  const some = Array.from({ length: 200 }, (_, n) => Math.floor((footer * n) / 200))
  for (const at of [...some, ...places, whole.length - 1]) {
    const changed = Buffer.from(whole)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    await writeFile(path, changed)
    t.type(await damageOf(path, { deeply: true }), 'string', `byte ${at}`)
  }
})

t.test('a store that LevelDB aborted checks its tables before it serves', async (t) => {
  const child = superviseEventStore({
    root: await copied(killed, 'aborted'),
    onLine: () => undefined,
  })
  t.teardown(() => child.stop())
  await child.ready
  const first = child.pid() ?? 0
  t.notMatch(await argumentsOf(first), /--check-tables/)
  process.kill(first, 'SIGABRT')
  const next = await eventually('the next one runs', () => {
    const pid = child.pid()
    return pid === undefined || pid === first ? undefined : pid
  })
  t.match(await argumentsOf(next), /--check-tables/)
})

async function argumentsOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ')
}

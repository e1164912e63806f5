import { appendFile, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { copySpool } from '../../../src/eventlog/journal/copy-spool.ts'
import { readDamaged } from '../../../src/eventlog/journal/damaged-records.ts'
import { encodeRecord } from '../../../src/eventlog/journal/spool-record.ts'
import { cancelled } from '../support/sample-events.ts'

const directory = await mkdtemp(join(tmpdir(), 'tollgate-copy-spool-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
const record = (name: string): Buffer =>
  encodeRecord(
    { stream: 'journal-i-0', expected: 'no_stream', events: [cancelled('journal', name)] },
    0,
  )
const FILE = 'a-000001.spool'
const [whole, last] = [record('whole'), record('last')]

async function spoolWith(content: Buffer) {
  const from = await mkdtemp(join(directory, 'from-'))
  await writeFile(join(from, FILE), content)
  return { from, to: `${from}-copy` }
}

t.test('a last record that stays incomplete is cut off, kept and named', async (t) => {
  const torn = last.subarray(0, -20)
  const { from, to } = await spoolWith(Buffer.concat([whole, torn]))
  const { cut } = await copySpool(from, to)
  t.match(cut, [{ kept: join(to, FILE), sizeBytes: torn.length }])
  t.same(await readFile(join(to, FILE)), whole)
  t.same(await readFile(cut[0]?.kept ?? ''), torn)
  t.match(await readDamaged(to), [{ sizeBytes: torn.length, events: [{}] }])
})

t.test(
  'a damaged record that has its end is copied as it is, for the gateway to set aside',
  async (t) => {
    const damaged = Buffer.from(last)
    damaged.writeUInt8(damaged.readUInt8(40) ^ 1, 40)
    const { from, to } = await spoolWith(Buffer.concat([whole, damaged]))
    t.same((await copySpool(from, to)).cut, [])
    t.same(await readFile(join(to, FILE)), Buffer.concat([whole, damaged]))
  },
)

t.test('a record that is being written is awaited, one that is drained is left out', async (t) => {
  const { from, to } = await spoolWith(Buffer.concat([whole, last.subarray(0, 30)]))
  setTimeout(() => void appendFile(join(from, FILE), last.subarray(30)), 150)
  t.same((await copySpool(from, to)).cut, [])
  t.same(await readFile(join(to, FILE)), Buffer.concat([whole, last]))
  const drained = await spoolWith(Buffer.concat([whole, last.subarray(0, 30)]))
  setTimeout(() => void truncate(join(drained.from, FILE), 0), 150)
  t.same((await copySpool(drained.from, drained.to)).cut, [])
  t.same(await readdir(drained.to), [FILE])
})

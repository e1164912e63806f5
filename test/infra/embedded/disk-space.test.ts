import { join } from 'node:path'
import t from 'tap'
import { spaceLack, spaceLackOf } from '../../../infra/embedded/disk-space.ts'
import { logSpaceLack } from '../../../infra/embedded/eventstore/space.ts'

t.test('missing disk space is reported with folder, free and needed space', (t) => {
  const folder = t.testdir()
  t.equal(spaceLack(folder, 1), undefined)
  const words = new RegExp(
    `^the disk of ${folder} has [\\d.]+ MiB free, and 1048576.0 MiB are needed`,
  )
  t.match(spaceLack(folder, 2 ** 40), words)
  t.equal(spaceLack(join(folder, 'none'), 2 ** 40), undefined, 'what cannot be asked lacks nothing')
  t.equal(logSpaceLack(folder), undefined)
  t.end()
})

t.test('an exceeded quota is recognised by the store’s last words', (t) => {
  const folder = t.testdir()
  const ended = 'could not write to file "pg_wal/xlogtemp.7": No space left on device'
  t.equal(spaceLackOf(folder, 1, ended), `no space is left for ${folder}`)
  t.equal(spaceLackOf(folder, 1, 'ended by SIGKILL'), undefined)
  t.match(spaceLackOf(folder, 2 ** 40, 'ended by SIGKILL'), /^the disk of/)
  t.end()
})

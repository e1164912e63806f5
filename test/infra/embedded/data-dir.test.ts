import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { DATA_DIR_VERSION, prepareDataDir } from '../../../infra/embedded/data-dir.ts'
import { nodeArguments } from '../../helpers/checkout.ts'
import { isRoot, notRoot } from '../../helpers/requirements.ts'

const HOLDER = nodeArguments(new URL('data-dir-holder.ts', import.meta.url))

// Other files may run in this process.
const mask = process.umask()
t.teardown(() => process.umask(mask))

function folder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'data-dir-'))
  chmodSync(path, 0o755)
  t.teardown(() => {
    chmodSync(path, 0o755)
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

async function hold(
  t: Test,
  path: string,
  ...more: string[]
): Promise<{ process: ChildProcess; said: string }> {
  const holder = spawn(process.execPath, [...HOLDER, path, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => holder.kill('SIGKILL'))
  const [said] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
  return { process: holder, said }
}

t.test('a missing directory is created, private, with its version', async (t) => {
  const path = join(folder(t), 'deep', 'data')
  const dir = await prepareDataDir(path)
  t.equal(dir.path, path)
  t.equal(statSync(path).mode & 0o666, 0o600)
  t.equal(readFileSync(join(path, 'version'), 'utf8'), `${DATA_DIR_VERSION}\n`)
  await dir.release()
  await dir.release()
  const again = await prepareDataDir(path)
  await again.release()
})

t.test('a directory open to other accounts is made private, with its contents', async (t) => {
  const path = folder(t)
  const outside = join(folder(t), 'outside')
  writeFileSync(outside, '')
  mkdirSync(join(path, 'spool', 'deep'), { recursive: true })
  const files = ['demo.json', 'spool/segment', 'spool/deep/segment'].map((name) => join(path, name))
  const folders = ['spool', 'spool/deep'].map((name) => join(path, name))
  for (const file of files) writeFileSync(file, '')
  for (const file of [...files, outside]) chmodSync(file, 0o666)
  for (const one of [...folders, path]) chmodSync(one, 0o777)
  symlinkSync(outside, join(path, 'link'))
  const exposed: string[] = []
  const given = join(folder(t), 'link-to-it')
  symlinkSync(path, given)
  const dir = await prepareDataDir(given, (why) => exposed.push(why))
  t.same(exposed, [])
  const modeOf = (file: string): number => statSync(file).mode & 0o777
  // Root's database runs under another account, which has to pass through.
  t.equal(modeOf(path), isRoot ? 0o711 : 0o700)
  for (const one of folders) t.equal(modeOf(one), 0o700, one)
  for (const file of files) t.equal(modeOf(file), 0o600, file)
  t.equal(modeOf(outside), 0o666, 'what a link leads to is left alone')
  const later = join(path, 'later')
  writeFileSync(later, '')
  t.equal(modeOf(later), 0o600, 'what is written later is closed too')
  await dir.release()
})

t.test('a directory of another account is used and reported', { skip: notRoot }, async (t) => {
  const path = folder(t)
  chownSync(path, 61_234, 61_234)
  const exposed: string[] = []
  const dir = await prepareDataDir(path, (why) => exposed.push(why))
  t.match(exposed, [/belongs to another account \(user 61234\), which can exchange what is in it/])
  await dir.release()
})

t.test('a second use in one process is refused', async (t) => {
  const path = folder(t)
  const dir = await prepareDataDir(path)
  await t.rejects(prepareDataDir(path), {
    code: 'data_dir_in_use',
    message: new RegExp(`${path} is in use by process ${process.pid};`),
  })
  await dir.release()
})

t.test(
  'a second process is refused with the id of the first; a killed one blocks none',
  async (t) => {
    const path = folder(t)
    const { process: holder, said } = await hold(t, path)
    t.equal(said, 'held')
    await t.rejects(prepareDataDir(path), {
      code: 'data_dir_in_use',
      message: new RegExp(`in use by process ${holder.pid};`),
    })
    const ended = once(holder, 'exit')
    holder.kill('SIGKILL')
    await ended
    const dir = await prepareDataDir(path)
    await dir.release()
  },
)

t.test('a file in place of the directory or a parent is reported', async (t) => {
  const path = join(folder(t), 'file')
  writeFileSync(path, '')
  await t.rejects(prepareDataDir(path), {
    code: 'data_dir_unwritable',
    message: /file cannot be written: it is a file, not a directory; .* set DATA_DIR/,
  })
  await t.rejects(prepareDataDir(join(path, 'data')), {
    code: 'data_dir_unwritable',
    message: /a part of the path is a file/,
  })
})

t.test('a directory that this account cannot write is reported', async (t) => {
  const closed = join(folder(t), 'closed')
  mkdirSync(closed, { mode: 0o555 })
  for (const path of [closed, join(closed, 'inside')]) {
    const { said } = await hold(t, path, 'unprivileged')
    t.match(
      said,
      `the data directory ${path} cannot be written: permission denied; let this account write it, or set DATA_DIR`,
    )
  }
})

t.test('a directory of a newer release is refused unchanged', async (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'version'), `${DATA_DIR_VERSION + 1}\n`)
  await t.rejects(prepareDataDir(path), {
    code: 'data_dir_newer',
    message: /written by a newer release \(layout 2, this one knows up to 1\)/,
  })
  t.equal(readFileSync(join(path, 'version'), 'utf8'), `${DATA_DIR_VERSION + 1}\n`)
  writeFileSync(join(path, 'version'), 'banana')
  await t.rejects(prepareDataDir(path), { code: 'data_dir_invalid' })
  writeFileSync(join(path, 'version'), `${DATA_DIR_VERSION}\n`)
  const dir = await prepareDataDir(path)
  await dir.release()
})

t.test('an unreadable lock of a power cut is written again', async (t) => {
  const path = folder(t)
  await (await prepareDataDir(path)).release()
  writeFileSync(join(path, 'lock', 'CURRENT'), 'torn')
  const dir = await prepareDataDir(path)
  await t.rejects(prepareDataDir(path), { code: 'data_dir_in_use' })
  await dir.release()
})

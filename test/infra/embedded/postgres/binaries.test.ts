import { mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findBinaries, restoreLinks } from '../../../../infra/embedded/postgres/binaries.ts'
import { folder } from './harness.ts'

t.test('library links that an install without scripts omitted are created', async (t) => {
  const root = folder(t)
  const library = join(root, 'native', 'lib')
  mkdirSync(library, { recursive: true })
  writeFileSync(join(library, 'libx.so.6.18'), 'library')
  const links = ['libx.so', 'libx.so.6'].map((name) => ({
    source: 'native/lib/libx.so.6.18',
    target: `native/lib/${name}`,
  }))
  writeFileSync(join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  symlinkSync('elsewhere', join(library, 'libx.so'))
  restoreLinks(root)
  restoreLinks(root)
  t.equal(readFileSync(join(library, 'libx.so.6'), 'utf8'), 'library')
  t.equal(readlinkSync(join(library, 'libx.so')), 'elsewhere', 'what is there stays')
})

t.test('a link that cannot be created is named', async (t) => {
  const root = folder(t)
  mkdirSync(join(root, 'native'))
  const links = [{ source: 'native/lib/libx.so.6', target: 'native/lib/libx.so' }]
  writeFileSync(join(root, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  t.throws(() => restoreLinks(root), { message: /lacks .*native\/lib\/libx\.so .*npm rebuild/ })
})

t.test('this platform has its Postgres programs', async (t) => {
  const { initdb, postgres } = await findBinaries()
  t.match(initdb, /initdb$/)
  t.match(postgres, /postgres$/)
})

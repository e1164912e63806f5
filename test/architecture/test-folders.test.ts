import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { checkout } from '../helpers/checkout.ts'

const root = fileURLToPath(checkout)
/** Where the code is that the tests of a folder test. */
const sources: Readonly<Record<string, string>> = {
  ...Object.fromEntries(readdirSync(join(root, 'src')).map((name) => [name, `src/${name}`])),
  projections: 'projections',
  infra: 'infra',
}
/** Folders of helpers, and the second arithmetic that read models are compared with. */
const others: ReadonlySet<string> = new Set(['support', 'projections/oracles'])

function foldersBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !others.has(entry.name))
    .flatMap(({ name }) => [join(folder, name), ...foldersBelow(join(folder, name))])
}

t.test('each folder of tests has the name of the folder that it tests', (t) => {
  const tested = Object.entries(sources).filter(([name]) => existsSync(join(root, 'test', name)))
  t.ok(tested.length >= 9, tested.map(([name]) => name).join(' '))
  for (const [name, source] of tested) {
    const folder = join(root, 'test', name)
    const paths = foldersBelow(folder).map((path) => relative(folder, path))
    const without = paths.filter(
      (path) => !existsSync(join(root, source, path)) && !others.has(`${name}/${path}`),
    )
    t.same(without, [], `test/${name}`)
  }
  t.end()
})

t.test(
  'a module of helpers, which all test files of a process share, does nothing for the one that loads it first',
  (t) => {
    const helpers = readdirSync(join(root, 'test'), { encoding: 'utf8', recursive: true })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
      .filter((path) => !/^(run|bench)\//.test(path))
    t.ok(helpers.length > 100, `${helpers.length} modules`)
    const atOnce = helpers.filter((path) =>
      /^(?:await )?t\.\w/m.test(readFileSync(join(root, 'test', path), 'utf8')),
    )
    t.same(atOnce, [])
    t.end()
  },
)

import t from 'tap'
import { allSettings } from '../../src/domain/account/settings.ts'
import { sources } from './sources.ts'

/** Where settings are taken from their list; elsewhere one of them may be meant by itself. */
const rooms = /^src\/(?:kernel|domain|eventlog|app\/accounts|api|cli|start)\//

t.test('names that follow from the list of settings are not written by hand', (t) => {
  t.ok(allSettings.length > 3, `${allSettings.length} settings`)
  const read = sources.filter(({ path }) => rooms.test(path))
  t.ok(read.length > 200, `read ${read.length} files`)
  for (const [name, { code, type }] of allSettings) {
    const naming = (word: RegExp) =>
      read.filter(({ text }) => word.test(text)).map((one) => one.path)
    t.same(naming(new RegExp(`\\b${code}_(?:invalid|changed)\\b`)), [], `${name}: its errors`)
    const [own, ...others] = naming(new RegExp(`'${type}'`))
    t.match(own, /^src\/domain\/account\//, `${name}: its event`)
    t.same(others, [], `${name}: its event is declared in its own file`)
  }
  t.end()
})

import t from 'tap'
import { sources } from './sources.ts'

/** The most files of a folder that a reader can survey. */
const MAX_FILES = 14

/** The number of files in each folder, without those of its subfolders. */
function countsBelow(root: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { path } of sources) {
    if (!path.startsWith(root)) continue
    const folder = path.slice(0, path.lastIndexOf('/'))
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return counts
}

t.test('no folder of src/api/kit has more than 14 files', (t) => {
  const counts = countsBelow('src/api/kit/')
  t.ok(counts.size > 5, `${counts.size} folders`)
  t.same(
    [...counts].filter(([, count]) => count > MAX_FILES),
    [],
  )
  t.end()
})

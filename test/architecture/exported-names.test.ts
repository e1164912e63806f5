import t from 'tap'
import { sources } from './sources.ts'

/**
 * A name that a file exports has one meaning in its room: a reader who searches for it finds one thing. A list of
 * what another file exports, `export { … } from`, has the meaning that it has there.
 */

/** The room of a file: the read models, or a folder of `src`; the files of `src` itself are one room. */
function roomOf(path: string): string | undefined {
  const [top, folder, ...rest] = path.split('/')
  if (top === 'projections') return top
  if (top !== 'src') return undefined
  return rest.length === 0 ? top : `${top}/${folder}`
}

const declaration =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type) (\w+)/gm

/** The names that a file declares and exports, overloads of a function once. */
function exportedBy(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(declaration)].map(([, name = '']) => name))
}

/** The files of each name in a room, by the room and the name. */
function filesByName(
  files: readonly { readonly path: string; readonly text: string }[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>()
  for (const { path, text } of files) {
    const room = roomOf(path)
    if (room === undefined) continue
    for (const name of exportedBy(text)) {
      const key = `${room}: ${name}`
      found.set(key, [...(found.get(key) ?? []), path])
    }
  }
  return found
}

function namedTwice(files: Parameters<typeof filesByName>[0]): readonly string[] {
  return [...filesByName(files)].flatMap(([key, paths]) =>
    paths.length > 1 ? [`${key} of ${paths.join(' and ')}`] : [],
  )
}

t.test('no exported name has two meanings in one room', (t) => {
  const names = filesByName(sources)
  t.ok(names.size > 2_000, `${names.size} names`)
  t.ok(names.has('src/domain: PriceBook') && names.has('projections: LinePlace'), 'of each room')
  t.same(namedTwice(sources), [])
  t.end()
})

t.test('a name of two files is found, one of two rooms or of a list of exports is not', (t) => {
  const text = 'export interface Page {}\nexport function next(): void\nexport function next() {}\n'
  const one = { path: 'src/app/one.ts', text }
  t.same(namedTwice([one, { path: 'src/app/calls/two.ts', text: 'export type Page = string' }]), [
    'src/app: Page of src/app/one.ts and src/app/calls/two.ts',
  ])
  t.same(namedTwice([one, { path: 'src/api/two.ts', text }]), [])
  t.same(
    namedTwice([
      one,
      { path: 'src/app/two.ts', text: "export { next, type Page } from './one.ts'" },
    ]),
    [],
  )
  t.end()
})

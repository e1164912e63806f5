import t from 'tap'
import { sources } from './sources.ts'

/**
 * The console by subject: each is a folder with a `routes.ts`, which the list of the surface has. A new
 * subject touches no file of another.
 */

const room = 'src/console/'
/** Folders of the console that are no subject, but used by all of them. */
const shared = new Set(['kit', 'static'])
/** Files of subjects that others may use: who reads, and in which session. */
const usedByOthers = new Set([`${room}session/guard.ts`, `${room}session/reading-as.ts`])

const files = sources.filter(({ path }) => path.startsWith(room))

/** The subject that a file belongs to; undefined for files that are of none. */
function subjectOf(path: string): string | undefined {
  const [folder = '', file] = path.slice(room.length).split('/')
  return !path.startsWith(room) || file === undefined || shared.has(folder) ? undefined : folder
}

t.test('no subject of the console imports a file of another', (t) => {
  t.ok(files.length > 50, `read ${files.length} files`)
  t.ok(usedByOthers.size <= 4, 'few files are shared')
  const offences = files.flatMap(({ path, imports }) => {
    const own = subjectOf(path)
    return own === undefined
      ? []
      : imports.filter((target) => {
          const theirs = subjectOf(target)
          return theirs !== undefined && theirs !== own && !usedByOthers.has(target)
        })
  })
  t.same(offences, [])
  t.end()
})

t.test('a page is imported by the routes of its subject alone', (t) => {
  const pages = files.filter(({ text }) => /^export const \w+: Page</m.test(text))
  t.ok(pages.length > 12, `read ${pages.length} pages`)
  const offences = pages.flatMap((page) =>
    sources
      .filter(({ imports }) => imports.includes(page.path))
      .map(({ path }) => path)
      .filter((path) => path !== `${room}${subjectOf(page.path)}/routes.ts`)
      .map((path) => `${path} imports ${page.path}`),
  )
  t.same(offences, [])
  t.end()
})

t.test('the surface lists every subject, and no other file knows one', (t) => {
  const routes = files.map(({ path }) => path).filter((path) => path.endsWith('/routes.ts'))
  const importers = new Map(
    routes.map((route) => [
      route,
      sources.filter(({ imports }) => imports.includes(route)).map(({ path }) => path),
    ]),
  )
  for (const [route, from] of importers) t.same(from, [`${room}surface.tsx`], route)
  const named = new Set(files.map(({ path }) => subjectOf(path)))
  named.delete(undefined)
  // The session has no page of a menu: the surface opens it before all others.
  named.delete('session')
  t.same(new Set(routes.map(subjectOf)), named, 'each folder has its routes')
  const kit = files.filter(({ path }) => path.startsWith(`${room}kit/`))
  const known = kit.flatMap(({ path, imports }) =>
    imports
      .filter((target) => subjectOf(target) !== undefined)
      .map((target) => `${path} ${target}`),
  )
  t.same(known, [], 'the kit knows no subject')
  t.end()
})

t.test('addresses of the console are written in the kit alone', (t) => {
  const writing = files
    .filter(({ path }) => subjectOf(path) !== undefined)
    .filter(({ text }) =>
      /['"`]\/console\b|\bhrefOf\b[^}]*\} from '\.\.\/kit\/href\.ts'/.test(text),
    )
    .map(({ path }) => path)
  t.same(writing, [])
  t.end()
})

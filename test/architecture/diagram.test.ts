import t from 'tap'
import { pageText } from '../helpers/printed-calls.ts'
import { sources } from './sources.ts'

/** The first diagram of the page about the architecture shows who may import whom. */

/** Arrows of a flowchart: whole chains of them, one a line. */
function arrowsOf(flowchart: string): readonly (readonly [string, string])[] {
  return flowchart.split('\n').flatMap((line) => {
    const names = line.trim().split(' --> ')
    return names.slice(1).map((name, index) => [names[index] ?? '', name] as const)
  })
}

const [, flowchart = ''] =
  /```mermaid\nflowchart LR\n([\s\S]*?)```/.exec(pageText('docs/architecture.md')) ?? []
const arrows = arrowsOf(flowchart)
const shown = new Set(arrows.flat())

/** As the diagram names the folder of a file; undefined where it does not. */
function folderOf(path: string): string | undefined {
  const [top = '', second = ''] = path.split('/')
  const name = top === 'projections' ? top : second
  return shown.has(name) ? name : undefined
}

function leadsTo(from: string, to: string): boolean {
  return arrows.some(([tail, head]) => tail === from && (head === to || leadsTo(head, to)))
}

t.test('every import follows an arrow of the diagram, and every arrow is used', (t) => {
  const pairs = new Set(
    sources.flatMap(({ path, imports }) => {
      const importer = folderOf(path)
      return imports.flatMap((target) => {
        const imported = folderOf(target)
        const crosses = imported !== undefined && importer !== undefined && imported !== importer
        return crosses ? [`${imported} --> ${importer}`] : []
      })
    }),
  )
  t.ok(pairs.size > 20, `${pairs.size} pairs of folders`)
  const against = [...pairs].filter((pair) => {
    const [from = '', to = ''] = pair.split(' --> ')
    return !leadsTo(from, to)
  })
  t.same(against, [])
  const unused = arrows.map(([from, to]) => `${from} --> ${to}`).filter((pair) => !pairs.has(pair))
  t.same(unused, [])
  t.end()
})

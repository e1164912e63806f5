import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { createMetricsRegistry } from '../../src/app/metrics.ts'
import { checkout } from '../helpers/checkout.ts'
import { promtool } from '../helpers/requirements.ts'
import { dashboards, expressionsOf } from './watch/dashboards.ts'
import { type Reading, readingsOf } from './watch/promql.ts'

/** The dashboards, without a Prometheus; `.ci/watch` asks a real one for each of their expressions. */

const expressions = dashboards.flatMap(expressionsOf)
const readText = (path: string): string => readFileSync(new URL(path, checkout), 'utf8')

/** The labels that each metric has before Prometheus adds its own; `test/e2e/operating.test.ts` compares the page with `/metrics`. */
function exportedMetrics(): ReadonlyMap<string, readonly string[]> {
  const page = readText('docs/surfaces/operating.md')
  const ours = [...page.matchAll(/^\| `(tollgate_\w+)` +\| ([^|]*)\| (\w+):/gm)]
  const rules = parse(readText('infra/watch/alerts.yaml')) as {
    readonly groups: readonly { readonly rules: readonly { readonly record?: string }[] }[]
  }
  return new Map([
    ...ours.map(([, name = '', labels = '', kind]): readonly [string, readonly string[]] => [
      kind === 'histogram' ? `${name}_bucket` : name,
      [...labels.matchAll(/`(\w+)`/g)]
        .map(([, label = '']) => label)
        .concat(kind === 'histogram' ? 'le' : []),
    ]),
    ...createMetricsRegistry()
      .getMetricsAsArray()
      .map(({ name }): readonly [string, readonly string[]] => [name, []]),
    ...rules.groups
      .flatMap((group) => group.rules)
      .flatMap(({ record }): (readonly [string, readonly string[]])[] =>
        record === undefined ? [] : [[record, []]],
      ),
    // Series that Prometheus makes itself.
    ['up', ['job']],
    ['ALERTS', ['alertname', 'alertstate']],
  ])
}

const exported = exportedMetrics()

t.test('each panel has a title, a unit, and a description that says what is normal', (t) => {
  t.same(
    dashboards.map(({ uid }) => uid),
    ['tollgate-money', 'tollgate-overview'],
  )
  for (const { title, panels } of dashboards) {
    t.equal(new Set(panels.map(({ id }) => id)).size, panels.length, `${title}: ids`)
    t.equal(new Set(panels.map((panel) => panel.title)).size, panels.length, `${title}: titles`)
    for (const panel of panels) {
      const place = `${title} / ${panel.title}`
      t.ok(panel.gridPos.x + panel.gridPos.w <= 24, `${place}: fits`)
      if (panel.type === 'row') continue
      t.match(panel.title, /^[A-Z][^:;]+[^.]$/, place)
      t.match(panel.fieldConfig?.defaults.unit, /^\w+$/, `${place}: unit`)
      t.match(panel.description, /\bNormal: [^.]+.*\.$/, `${place}: description`)
      t.ok((panel.targets ?? []).length > 0, `${place}: expressions`)
    }
  }
  t.end()
})

t.test('no panel covers another', (t) => {
  for (const { title, panels } of dashboards) {
    const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)} ${y + Math.floor(n / w)}`),
    )
    t.equal(new Set(places).size, places.length, title)
  }
  t.end()
})

t.test('each expression reads metrics and labels that are exported', (t) => {
  const faults: string[] = []
  for (const { place, expr, legendFormat } of expressions) {
    const legend = [...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label = '']) => label)
    for (const { name, matchers, kept } of readingsOf(expr)) {
      const labels = exported.get(name)
      if (labels === undefined) faults.push(`${place}: there is no ${name}`)
      const known = new Set([...(labels ?? []), 'instance'])
      const used = [...matchers.map(({ label }) => label), ...(kept ?? []), ...legend]
      faults.push(
        ...used
          .filter((label) => !known.has(label))
          .map((label) => `${place}: ${name} has no ${label}`),
        ...legend
          .filter((label) => kept !== undefined && !kept.includes(label))
          .map((label) => `${place}: ${label} is not kept`),
      )
    }
  }
  t.same(faults, [])
  t.ok(expressions.length >= 50, `${expressions.length} expressions`)
  t.end()
})

/** Figures of the database, which every process reports the same. */
const ofDatabase =
  /^tollgate_(?:audit|settled|holds|trial|silent|leads|open_tasks|polls_overdue|uncertain|projection|low_balances|periods_open)/

t.test('figures of the database are not added up over processes', (t) => {
  const isAdded = ({ name, aggregation }: Reading): boolean =>
    ofDatabase.test(name) && aggregation !== 'max'
  t.same(
    expressions.filter(({ expr }) => readingsOf(expr).some(isAdded)),
    [],
  )
  t.end()
})

t.test('promtool accepts each expression', { skip: promtool.missing }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-dashboards-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const rules = expressions.map(({ expr }, n) => ({ record: `dashboard:expression:${n}`, expr }))
  const file = join(folder, 'rules.json')
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }))
  const { status, stdout, stderr } = spawnSync(promtool.path(), ['check', 'rules', file], {
    encoding: 'utf8',
  })
  t.equal(status, 0, `${stdout}${stderr}`)
  t.end()
})

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { checkout } from '../helpers/checkout.ts'
import { promtool } from '../helpers/requirements.ts'
import { startStack } from '../helpers/stack.ts'
import { readingsOf, type Selector } from './watch/promql.ts'

interface Rule {
  readonly alert?: string
  readonly expr: string
  readonly labels?: { readonly severity: string }
  readonly annotations?: Readonly<Record<'summary' | 'description' | 'runbook', string>>
}

interface Case {
  readonly promql_expr_test: readonly {
    readonly expr: string
    readonly exp_samples: readonly unknown[]
  }[]
}

const folder = new URL('infra/watch/', checkout)
const readYaml = (name: string): unknown => parse(readFileSync(new URL(name, folder), 'utf8'))
const { groups } = readYaml('alerts.yaml') as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const alarms = rules.flatMap((rule) => (rule.alert === undefined ? [] : [rule.alert]))

/** The values of labels that a series has, or that a selector asks for. */
type Labels = Readonly<Record<string, string>>

interface Series {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

/** The series of an answer of `/metrics`. */
function seriesOf(text: string): readonly Series[] {
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name = '', labels = '', value]) => ({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, of]) => [label, of]),
      ) as Labels,
      value: Number(value),
    }),
  )
}

/** One selector for each alternative of `=~"a|b"`: every one of them must have its series. */
function alternativesOf({ name, matchers }: Selector): readonly Selector[] {
  let selectors: readonly Selector[] = [{ name, matchers: [] }]
  for (const { label, operator, value } of matchers)
    selectors = selectors.flatMap((one) =>
      (operator === '=~' ? value.split('|') : [value]).map((part) => ({
        name,
        matchers: [...one.matchers, { label, operator, value: part }],
      })),
    )
  return selectors
}

function isSelected({ name, matchers }: Selector, series: Series): boolean {
  return (
    series.name === name &&
    matchers.every(({ label, operator, value }) => {
      const isEqual = new RegExp(`^(?:${value})$`).test(series.labels[label] ?? '')
      return operator.startsWith('!') ? !isEqual : isEqual
    })
  )
}

t.test('every counter that an alarm reads begins at 0, and every metric exists', async (t) => {
  const stack = await startStack({ env: { OBJECT_STORAGE: 'local' } })
  t.teardown(() => stack.stop())
  const text = await (await fetch(`${stack.url}/metrics`)).text()
  const series = seriesOf(text).filter(({ value }) => Number.isFinite(value))
  const readings = rules.flatMap(({ expr }) => readingsOf(expr))
  const counted = readings
    .filter(({ within }) => ['increase', 'rate'].includes(within))
    .flatMap(alternativesOf)
  t.ok(counted.length >= 30, `${counted.length} counters`)
  const missing = counted.filter((selector) => !series.some((one) => isSelected(selector, one)))
  t.same(missing, [])
  const known = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name))
  const read = readings
    .map(({ name }) => name.replace(/_bucket$/, ''))
    .filter((name) => name !== 'up' && !name.includes(':'))
  t.ok(read.length >= 60, `${read.length} metrics`)
  t.same(
    read.filter((name) => !known.has(name)),
    [],
  )
  t.ok(series.length < 3_000, `${series.length} series before the first request`)
})

t.test('each alarm says what is wrong and names its paragraph for operators', (t) => {
  const page = readFileSync(new URL('docs/operators.md', checkout), 'utf8')
  const paragraphs = [...page.matchAll(/^### (Tollgate\w+)$/gm)].map(([, name = '']) => name)
  t.ok(alarms.length >= 45)
  t.same(paragraphs.toSorted(), alarms.toSorted())
  for (const { alert, labels, annotations } of rules) {
    if (alert === undefined) continue
    t.match(labels?.severity, /^(?:page|ticket|none)$/, alert)
    t.match(annotations?.summary, /\w+ \w+/, alert)
    t.match(annotations?.description, /\w+ \w+.*\.$/, alert)
    t.equal(annotations?.runbook, `docs/operators.md#${alert.toLowerCase()}`)
  }
  t.end()
})

t.test('each alarm has a case that fires and one that stays silent', (t) => {
  const { tests } = readYaml('alerts.test.yaml') as { readonly tests: readonly Case[] }
  const samples = tests.flatMap((one) => one.promql_expr_test)
  const tried = (fires: boolean): readonly string[] => {
    const names = samples
      .filter((sample) => sample.exp_samples.length > 0 === fires)
      .map(({ expr }) => /alertname="(\w+)",alertstate="firing"/.exec(expr)?.[1] ?? expr)
    return [...new Set(names)].toSorted()
  }
  t.same(tried(true), alarms.toSorted())
  // It has no silent case: this is what it is for.
  t.same(tried(false), alarms.filter((name) => name !== 'TollgateWatchdog').toSorted())
  t.end()
})

t.test('promtool runs the cases of the alarms', { skip: promtool.missing }, (t) => {
  const cases = fileURLToPath(new URL('alerts.test.yaml', folder))
  const { status, stdout, stderr } = spawnSync(promtool.path(), ['test', 'rules', cases], {
    encoding: 'utf8',
  })
  t.equal(status, 0, `${stdout}${stderr}`)
  t.end()
})

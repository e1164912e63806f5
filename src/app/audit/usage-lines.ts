import type { Settlement } from '../../domain/pricing/settlement.ts'
import type { Usage } from '../../domain/pricing/usage.ts'
import type { Finding } from './findings.ts'

const TEXT_TOKENS = ['input', 'cached-input', 'cache-write-5m', 'cache-write-1h', 'output']
const TEXT_TOOLS: Readonly<Record<string, string>> = {
  'web-search-count': 'web-search-call',
  'code-interpreter-count': 'code-interpreter-session',
  'file-search-count': 'file-search-call',
}
const TEXT_RULE = /^text\/[a-z-]+\/(.+)$/
/** Patterns match rules of any family by the text after the family's name. */
const OTHER_RULES: readonly (readonly [rule: RegExp, unit: string])[] = [
  [/^[a-z-]+\/(?:characters\/reported|clone\/audition)$/, 'character'],
  [/^[a-z-]+\/picture(?:\/[a-z-]+)?$/, 'image'],
  [/^[a-z-]+\/web-search$/, 'web-search-call'],
  [/^[a-z-]+\/input-tokens\/no-picture$/, 'input'],
]

/** The unit of usage that a rule counts; undefined for a rule that is not known here. */
function countedUnit(rule: string): string | undefined {
  const text = TEXT_RULE.exec(rule)?.[1]
  if (text !== undefined) {
    const parts = text.replace(/\/at-input-rate$/, '').split('/')
    const last = parts.at(-1) ?? ''
    return TEXT_TOKENS.includes(last) ? last : TEXT_TOOLS[last]
  }
  const tokens = /^[a-z-]+\/tokens\/([a-z-]+)$/.exec(rule)?.[1]
  return tokens ?? OTHER_RULES.find(([pattern]) => pattern.test(rule))?.[1]
}

/** Units that always have a line: text is known by having every unit of it, zeros too. */
function billedUnits(usage: Usage): readonly string[] {
  const units = TEXT_TOKENS.every((unit) => unit in usage) ? TEXT_TOKENS : ['character']
  return units.filter((unit) => (usage[unit] ?? 0) > 0)
}

interface Fault {
  readonly code: Extract<Finding['code'], 'line_not_of_usage' | 'usage_not_billed'>
  readonly message: string
}

/** Lines of a call that differ from the cost of its usage. */
export function usageFaults(usage: Usage, { lines }: Pick<Settlement, 'lines'>): readonly Fault[] {
  const faults: Fault[] = []
  const counted = new Set<string>()
  for (const { sku, rule, quantity } of lines) {
    const unit = countedUnit(rule)
    if (unit === undefined) continue
    const used = usage[unit] ?? 0
    if (quantity !== used || counted.has(unit))
      faults.push({
        code: 'line_not_of_usage',
        message: `${sku}: ${quantity} billed by ${rule}, ${used} ${unit} used`,
      })
    counted.add(unit)
  }
  if (lines.some(({ rule }) => countedUnit(rule) === undefined)) return faults
  for (const unit of billedUnits(usage))
    if (!counted.has(unit))
      faults.push({
        code: 'usage_not_billed',
        message: `${usage[unit]} ${unit} used, without a line`,
      })
  return faults
}

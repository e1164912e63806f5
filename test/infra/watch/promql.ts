import { parser } from '@prometheus-io/lezer-promql'

/** The metrics that an expression of Prometheus reads. */

interface Matcher {
  readonly label: string
  readonly operator: string
  readonly value: string
}

export interface Selector {
  readonly name: string
  readonly matchers: readonly Matcher[]
}

/** A selector and what the expression does with its series. */
export interface Reading extends Selector {
  /** The function that takes it, such as `rate`; empty without one. */
  readonly within: string
  /** The aggregation that takes it first, such as `sum`; empty without one. */
  readonly aggregation: string
  /** The labels that this aggregation keeps; undefined where all stay. */
  readonly kept: readonly string[] | undefined
}

type SyntaxNode = ReturnType<typeof parser.parse>['topNode']

/** The nearest node of this kind around a node. */
function around(node: SyntaxNode, kind: string): SyntaxNode | undefined {
  let outer = node.parent
  while (outer !== null && outer.name !== kind) outer = outer.parent
  return outer ?? undefined
}

/** Series and labels that an expression reads. @throws if it cannot be parsed */
export function readingsOf(expr: string): readonly Reading[] {
  const found: Reading[] = []
  const textOf = (node: { from: number; to: number } | null | undefined): string =>
    node ? expr.slice(node.from, node.to) : ''
  parser.parse(expr).iterate({
    enter: ({ node, type }) => {
      if (type.isError) throw new Error(`at ${node.from}: ${expr}`)
      if (node.name !== 'VectorSelector') return
      const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []
      const aggregate = around(node, 'AggregateExpr')
      const modifier = aggregate?.getChild('AggregateModifier')
      found.push({
        name: textOf(node.getChild('Identifier')),
        matchers: matchers.map((matcher) => ({
          label: textOf(matcher.getChild('LabelName')),
          operator: textOf(matcher.getChild('MatchOp')),
          value: textOf(matcher.getChild('StringLiteral')).slice(1, -1),
        })),
        within: textOf(around(node, 'FunctionCall')?.getChild('FunctionIdentifier')),
        aggregation: textOf(aggregate?.getChild('AggregateOp')),
        kept:
          aggregate &&
          (modifier?.getChild('GroupingLabels')?.getChildren('LabelName') ?? []).map(textOf),
      })
    },
  })
  return found
}

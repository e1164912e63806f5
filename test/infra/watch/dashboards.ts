import { readdirSync, readFileSync } from 'node:fs'
import { checkout } from '../../helpers/checkout.ts'

/** The dashboards of `infra/watch`, as the tests and `.ci/watch` read them. */

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat: string
  }[]
}

export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly templating: { readonly list: readonly { readonly name: string }[] }
  readonly panels: readonly Panel[]
}

const folder = new URL('infra/watch/dashboards/', checkout)

export const dashboards: readonly Dashboard[] = readdirSync(folder)
  .toSorted()
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Dashboard)

/** Every expression of a dashboard, with its variables at "All", over the last hour. */
export function expressionsOf({ title, templating, panels }: Dashboard) {
  const filled = (expr: string): string =>
    templating.list
      .reduce((text, { name }) => text.replaceAll(`$${name}`, '.*'), expr)
      .replaceAll('$__rate_interval', '1h')
  return panels.flatMap((panel) =>
    (panel.targets ?? []).map(({ expr, legendFormat }) => ({
      place: `${title} / ${panel.title}`,
      expr: filled(expr),
      legendFormat,
    })),
  )
}

/** HTML as text: every value that is put into a template is escaped, unless it is markup itself. */

class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
export type { Markup }

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function written(value: Markup | string | number | readonly Markup[]): string {
  if (value instanceof Markup) return value.text
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return value.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? '')
  return value.map(({ text }) => text).join('')
}

/** Makes markup of a template; texts in it are escaped for elements and for quoted attributes. */
export function markup(
  template: TemplateStringsArray,
  ...values: readonly (Markup | string | number | readonly Markup[])[]
): Markup {
  return new Markup(String.raw({ raw: template }, ...values.map(written)))
}

/** Markup of nothing. */
export const none: Markup = new Markup('')

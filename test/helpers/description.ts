/** An OpenAPI description with the named schemas in their places, their names as titles. */
export function withSchemasInPlace<Description>(description: Description): Description {
  const { components } = Object(description) as {
    readonly components?: { readonly schemas?: Readonly<Record<string, unknown>> }
  }
  const placed = new Map<string, unknown>()
  const place = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(place)
    if (typeof part !== 'object' || part === null) return part
    const { $ref, ...rest } = part as Readonly<Record<string, unknown>>
    if (typeof $ref !== 'string')
      return Object.fromEntries(Object.entries(part).map(([name, below]) => [name, place(below)]))
    const name = $ref.replace('#/components/schemas/', '')
    if (!placed.has(name)) placed.set(name, place(components?.schemas?.[name]))
    return { title: name, ...Object(placed.get(name)), ...rest }
  }
  return place(description) as Description
}

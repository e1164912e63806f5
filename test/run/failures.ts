/** What tap keeps of a failed assertion, as lines to be read: where it stands, and what was found and wanted. */
export function failureLines(diag: unknown, most: number): readonly string[] {
  if (typeof diag !== 'object' || diag === null) return []
  const { at, diff, found, wanted, error, code, signal } = diag as Record<string, unknown>
  const place = at as { fileName?: string; lineNumber?: number } | undefined
  const seen = Object.entries({ error, code, signal, diff, found, wanted })
    // A difference says both sides already.
    .filter(([name, value]) => value != null && !(diff != null && /^(found|wanted)$/.test(name)))
    .flatMap(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
      return text.includes('\n') ? [`${name}:`, ...text.split('\n')] : [`${name}: ${text}`]
    })
  const lines = [
    ...(place?.fileName === undefined ? [] : [`at ${place.fileName}:${place.lineNumber}`]),
    ...seen,
  ]
  return lines.slice(0, most).map((line) => `  ${line}`)
}

/** What reads pictures; only a gateway that has seen an image pays for loading it. */
export async function loadSharp() {
  const { default: sharp } = await import('sharp')
  // No picture comes twice.
  sharp.cache(false)
  return sharp
}

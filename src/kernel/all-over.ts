/**
 * Waits until all of them are over, then throws whatever failed first: what works on after another has
 * failed must not do so on something that was given up meanwhile, and often fails only for that.
 */
export async function allOver<const Work extends readonly unknown[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const all = Promise.all(work)
  // Looked at below, once the others are over as well.
  all.catch(() => undefined)
  await Promise.allSettled(work)
  return all
}

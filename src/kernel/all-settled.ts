/**
 * Runs steps one after the other, also after a failed one, then throws the first failure: a step
 * that always fails must not prevent the others.
 */
export async function runEach(steps: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const step of steps)
    await step().catch((error: unknown) => {
      failures.push(error)
    })
  if (failures.length > 0) throw failures[0]
}

/**
 * Waits until all promises have settled, then throws the first failure: work that continues after
 * another failure must not use resources that its caller has already released.
 */
export async function allSettledOrThrow<const Work extends readonly unknown[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const all = Promise.all(work)
  // Awaited below, after the others have settled as well.
  all.catch(() => undefined)
  await Promise.allSettled(work)
  return all
}

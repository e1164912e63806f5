import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { build, type Build } from './driver/build.ts'

/** A directory of the test's own that Postgres gets through to under whatever account it runs. */
export async function freshDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-faults-'))
  await chmod(directory, 0o711)
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return join(directory, 'run')
}

/** The product, built apart from `dist`, which other tests may use or build meanwhile. */
export async function builtApart(t: Test): Promise<Build> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-build-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return build(directory)
}

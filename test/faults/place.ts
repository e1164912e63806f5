import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A directory of the test's own that Postgres gets through to under whatever account it runs. */
export async function freshDirectory(t: Test): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-faults-'))
  await chmod(directory, 0o711)
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return join(directory, 'run')
}

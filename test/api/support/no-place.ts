import type { UploadPlace, UploadQuota } from '../../../src/app/files/uploads/quota.ts'

/** A place in a quota that nothing counts. */
export const noPlace: UploadPlace = {
  counted: async function* (body) {
    yield* body
  },
  keep: () => Promise.resolve(),
  release: () => Promise.resolve(),
}

/** A quota that is never reached. */
export const noQuota: UploadQuota = {
  limits: { maxBytes: Number.MAX_SAFE_INTEGER, maxFiles: 1_000_000, lifeMs: 30 * 86_400_000 },
  take: () => Promise.resolve(noPlace),
  free: () => Promise.resolve(),
  useOf: () => Promise.resolve({ files: 0, bytes: 0 }),
}

import { createRefusedForms } from '../../../src/api/kit/bounds/refused-forms.ts'
import type { Services } from '../../../src/api/kit/services.ts'

const nothing = { begin: () => undefined, count: () => undefined, served: () => undefined }

/** Limits nothing. */
export const noThrottle: Services['throttle'] = {
  statuses: () => ({}),
  query: () => undefined,
  own: () => undefined,
  attempt: () => undefined,
  count: () => () => undefined,
  free: nothing,
  refusedForms: nothing,
}

/** Refuses no form. */
export const noRefusedForms = createRefusedForms(nothing)

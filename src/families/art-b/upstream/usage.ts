import { SEARCHES } from '../rules/pricing.ts'
import { IMAGES } from '../../../domain/families/image-rules.ts'
import type { Usage } from '../../../domain/pricing/usage.ts'
import { countOf } from '../../../kernel/json.ts'
import { objectOf } from '../../kit/http/fields.ts'

/**
 * Usage of this wire as counts by unit. Pictures are those that came, or fewer where upstream says
 * that it charges fewer. A count that upstream does not tell is absent.
 */
export function artBUsage(reported: unknown, came: number): Usage {
  const usage = objectOf(reported)
  const charged = countOf(usage['generated_images'])
  const searches = countOf(objectOf(usage['tool_usage'])['web_search'])
  const tokens = countOf(usage['output_tokens'])
  return {
    [IMAGES]: Math.min(came, charged ?? came),
    ...(searches === undefined ? {} : { [SEARCHES]: searches }),
    ...(tokens === undefined ? {} : { 'output-token': tokens }),
  }
}

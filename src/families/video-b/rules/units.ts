/** What `/provB` video is measured in, by the names of the wire. */
export const INPUT_SECONDS = 'input_seconds'
export const OUTPUT_SECONDS = 'output_seconds'
export const TOTAL_SECONDS = 'total_seconds'
export const INPUT_IMAGES = 'input_image_count'

export const videoBUnits = [INPUT_SECONDS, OUTPUT_SECONDS, TOTAL_SECONDS, INPUT_IMAGES] as const

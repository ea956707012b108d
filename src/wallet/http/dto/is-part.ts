import { applyDecorators, type Type as Class } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsObject, ValidateIf, ValidateNested } from 'class-validator';

/** An object of another DTO class; it may be absent. */
export const IsPart = (part: Class): PropertyDecorator =>
  applyDecorators(
    ValidateIf((_dto, value) => value !== undefined),
    IsObject(),
    ValidateNested(),
    Type(() => part),
  );

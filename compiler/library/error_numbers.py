"""Numbers of errors, as Linux has them on all machines."""

ENOMEM, EBUSY, EINVAL, ERANGE = 12, 16, 22, 34
